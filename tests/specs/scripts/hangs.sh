#!/bin/sh
echo "begun"
sleep 60
