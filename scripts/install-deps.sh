#!/usr/bin/env bash
# Installs the Debian packages Plimsoll builds with; does nothing when they are all there.
set -euo pipefail

required=(g++ make cmake ninja-build pkg-config libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev
          libsqlite3-dev libxxhash-dev libgtest-dev librapidcheck-dev)
# Each of these switches one feature on; without it the build still succeeds.
optional=(ccache libdnnl-dev libopenblas0-pthread libbenchmark-dev python3 valgrind)

missing() {
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

if ! command -v apt-get >/dev/null; then
  echo "install-deps: no apt-get here; install by hand: ${required[*]}" >&2
  exit 0
fi
need=$(missing "${required[@]}")
want=$(missing "${optional[@]}")
[ -z "$need$want" ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  [ -z "$need" ] && exit 0
  echo "install-deps: run as root, or install: $(echo $need)" >&2
  exit 1
fi
echo "install-deps: installing $(echo $need $want)" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
if [ -n "$need" ]; then apt-get install -y -qq --no-install-recommends $need >/dev/null; fi
for package in $want; do
  apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
    echo "install-deps: $package is not available; its feature is off" >&2
done
