#!/bin/sh
# disk_space.sh DIRECTORY WARNING CRITICAL: used space of a file system, in percent.
# Exit code and output follow the Monitoring Plugins guidelines.
used=$(df -P "$1" 2>/dev/null | awk 'NR == 2 { sub("%", "", $5); print $5 }')
if [ -z "$used" ]; then
  echo "UNKNOWN - df prints nothing for $1"
  exit 3
fi
echo "$used% of $1 is used | used=$used%;$2;$3;0;100"
[ "$used" -ge "$3" ] && exit 2
[ "$used" -ge "$2" ] && exit 1
exit 0
