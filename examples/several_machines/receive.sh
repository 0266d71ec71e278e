#!/bin/sh
# The receiver: appends a line for each notification, with its id, event and check.
printf '%s %s %s\n' "$MONITOR_ID" "$MONITOR_EVENT" "$MONITOR_CHECK" >> "$DIRECTORY/received"
