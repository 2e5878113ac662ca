#!/usr/bin/env bash
# Installs the Debian packages Plimsoll builds with; does nothing when they are all there. An argument names a
# further set: bench, test, fuzz, format, tidy, wheel.
set -euo pipefail

required=(g++ make cmake ninja-build libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libsqlite3-dev libxxhash-dev
          libre2-dev libutf8proc-dev)
# Each of these switches one feature on; without it the build still succeeds.
optional=(libjs-dygraphs libdw-dev systemtap-sdt-dev libopenmpi-dev openmpi-bin libmpich-dev mpich)
products=(libdnnl-dev libopenblas0-pthread)  # libraries that can multiply matrices in place of our kernels
case "${1:-}" in
  "") ;;
  bench) optional+=("${products[@]}" python3) ;;
  test) required+=(libgtest-dev librapidcheck-dev pkg-config)
        optional+=("${products[@]}" ccache python3 python3-venv valgrind prometheus chromium fonts-dejavu-core man-db) ;;
  fuzz) required+=(clang libclang-rt-14-dev libgtest-dev librapidcheck-dev) ;;
  format) required=(clang-format) optional=() ;;
  tidy) required+=(clang-tidy) ;;
  wheel) optional+=(libbz2-dev liblzma-dev zlib1g-dev python3-venv binutils) ;;
  *) echo "install-deps: unknown set '$1'; give nothing, bench, test, fuzz, format, tidy or wheel" >&2; exit 2 ;;
esac

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
want=$(missing ${optional[@]+"${optional[@]}"})
[ -z "$need$want" ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  [ -z "$need" ] && exit 0
  echo "install-deps: run as root, or install: $(echo $need)" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# A set of optional packages that cannot be had is asked for once, not at every build.
tried=build/.install-deps-tried${1:+-$1}
if [ -z "$need" ] && [ "$(cat "$tried" 2>/dev/null)" = "$want" ]; then exit 0; fi
echo "install-deps: installing $(echo $need $want)" >&2
install() { apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
apt-get update -qq || echo "install-deps: the package lists could not be renewed; going on with those here" >&2
if [ -n "$need" ]; then install $need; fi
# All at once is quickest; one by one only if that fails.
if [ -n "$want" ] && ! install $want 2>/dev/null; then
  for package in $want; do
    install "$package" 2>/dev/null || echo "install-deps: $package is not available; its feature is off" >&2
  done
fi
mkdir -p build
missing ${optional[@]+"${optional[@]}"} > "$tried"
