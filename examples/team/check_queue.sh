#!/bin/sh
# Counts the files of a directory, one for each order that waits. Exit code 1 from 1,000 on, 2 from 10,000 on.
count=$(find "$1" -maxdepth 1 -type f | wc -l)
echo "$count orders are waiting | waiting=$count;1000;10000"
if [ "$count" -ge 10000 ]; then exit 2; fi
if [ "$count" -ge 1000 ]; then exit 1; fi
