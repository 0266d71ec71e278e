# Machines of a laboratory: network namespaces with web servers and a name server, inside of the namespaces that
# `unshare -rnm` made. Reads commands from standard input, and prints `done` after each.
set -eu
cd "$1"
mount -t tmpfs none /run
mkdir -p /run/netns data
mount --bind resolv.conf /etc/resolv.conf
mount -t tmpfs -o size=1m none data
ip link set lo up
for network in 1 2 3; do
  ip link add "br$network" type bridge
  ip address add "10.9.$network.254/24" dev "br$network"
  ip link set "br$network" up
done

# machine NETWORK NUMBER: one with an address, plugged into the switch of its network.
machine() {
  ip netns add "h$1-$2"
  ip link add "v$1-$2" type veth peer name eth0 netns "h$1-$2"
  ip link set "v$1-$2" master "br$1" up
  ip -n "h$1-$2" address add "10.9.$1.$2/24" dev eth0
  ip -n "h$1-$2" link set lo up
  ip -n "h$1-$2" link set eth0 up
  ip -n "h$1-$2" route add default via "10.9.$1.254"
}

# web NETWORK NUMBER: a web server on it.
web() {
  machine "$1" "$2"
  mkdir -p "web$1-$2"
  sed "s|CERTIFICATE|net$1|g" nginx.conf > "web$1-$2/nginx.conf"
  nsenter --net="/run/netns/h$1-$2" "$WEB_SERVER" -p "$PWD/web$1-$2/" -c nginx.conf &
}

web 1 1
web 1 2
web 2 1
web 2 2
web 2 3
machine 3 53
nsenter --net=/run/netns/h3-53 "$NAME_SERVER" --no-daemon --conf-file=dnsmasq.conf 2> dnsmasq.log &

# A program replaces its files, and ignores errors: on a full disk they are empty.
rewrite() {
  for name in orders users sessions; do { date > "data/$name.new"; } 2> /dev/null || true; done
  for name in orders users sessions; do mv "data/$name.new" "data/$name"; done
}
rewrite

while read -r command; do
  eval "$command"
  echo done
done
kill $(jobs -p) 2> /dev/null || true
