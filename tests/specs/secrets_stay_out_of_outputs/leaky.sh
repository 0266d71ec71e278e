#!/bin/sh
echo "token is $TOKEN | token=$TOKEN"
echo "again: $TOKEN"
exit 1
