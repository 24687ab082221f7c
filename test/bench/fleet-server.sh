# One server of a big fleet. A shell takes a fortieth of the memory of a Node process and starts at once,
# so that a hundred of them fit on any machine.
#
# Usage: sh fleet-server.sh FILE
# FILE holds the result of tools/list on one line. The id of a request must be its first one in the line.
IFS= read -r list <"$1"
while IFS= read -r line; do
  case $line in
  *'"id":'*) ;;
  *) continue ;;
  esac
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*)
    result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench-fleet","version":"1.0.0"}}'
    ;;
  *'"tools/list"'*) result=$list ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
