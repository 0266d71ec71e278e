#!/bin/sh
echo "bad: $1"
echo "more"
exit 2
