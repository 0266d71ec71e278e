#!/bin/sh
echo "fine | time=1s"
