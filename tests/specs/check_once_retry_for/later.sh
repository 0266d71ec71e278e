#!/bin/sh
mkdir "$0.began" 2>/dev/null && { echo "not yet"; exit 2; }
echo "at last"
