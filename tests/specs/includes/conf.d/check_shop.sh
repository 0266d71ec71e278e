#!/bin/sh
echo "the shop is slow, seen from $(basename "$0")"
exit 1
