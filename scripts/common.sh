# Shared by scripts: finds the repository, installs what is missing, builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }

# What the program needs, and what only tests and benchmarks need on top. Debian 12 package names.
build_packages=(g++ cmake ninja-build ccache libtorch-dev libboost-dev libssl-dev libhwy-dev libcli11-dev libfmt-dev
                libspdlog-dev nlohmann-json3-dev zlib1g-dev libjpeg-dev libpng-dev libopenmpi-dev openmpi-bin libsimgrid-dev
                libtoml11-dev dataset-fashion-mnist)
test_packages=(libgtest-dev libbenchmark-dev libgloo-dev clang libclang-rt-14-dev clang-tidy iproute2
               openssh-client python3-torch python3-yaml libmpich-dev mpich)
# Tests start these servers themselves, on loopback and for their own time only.
server_packages=(openssh-server slurm-wlm munge)

# install PACKAGE...: with apt, and only those that are not there.
install() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || {
    echo "This script installs Debian packages and finds no apt-get. Install these yourself: ${missing[*]}" >&2
    exit 2
  }
  say "Installing with apt: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "Neither root nor sudo: ask an administrator to install ${missing[*]}" >&2
      exit 2
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# install_servers: where systemd runs, it would start them for everybody; then only when asked to.
install_servers() {
  if [ -d /run/systemd/system ] && [ "${TACIT_INSTALL_SERVERS:-0}" != 1 ]; then
    echo "Tests with ${server_packages[*]} are skipped where these are missing. Installing them starts their servers on" \
         "this machine; TACIT_INSTALL_SERVERS=1 does it."
    return
  fi
  install "${server_packages[@]}"
}

# build PRESET [CMAKE OPTIONS...]: configures where needed and builds.
build() {
  local preset=$1
  shift
  say "Building preset '$preset' in build/$preset"
  cmake --preset "$preset" -DTACIT_UNITY=ON "$@" >"/tmp/tacit-configure.$$" 2>&1 || {
    cat "/tmp/tacit-configure.$$" >&2
    exit 1
  }
  grep -E 'was not found' "/tmp/tacit-configure.$$" || true
  rm -f "/tmp/tacit-configure.$$"
  cmake --build --preset "$preset"
}
