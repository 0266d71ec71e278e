#!/bin/sh
echo "broken by $1 and $2"
exit 2
