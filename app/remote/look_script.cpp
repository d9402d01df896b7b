#include "app/remote/machine.h"

namespace app {

// Every line that it prints is "name=value". Only what POSIX, coreutils and glibc have is used, and
// the folders in which ldconfig and nvcc are kept when they are not on PATH.
const std::string_view kLookScript = R"script(PATH=$PATH:/sbin:/usr/sbin:/usr/local/cuda/bin
LC_ALL=C; export LC_ALL
say() { printf '%s=%s\n' "$1" "$2"; }
say machine "$(uname -m)"
say system "$( (. /etc/os-release && printf %s "$PRETTY_NAME") 2>/dev/null || uname -sr)"
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null); say glibc "${glibc##* }"
say cores "$(nproc 2>/dev/null)"
if ldconfig -p 2>/dev/null | grep -q 'libgcc_s\.so\.1 .*x86-64'; then
  for library in $(ldconfig -p 2>/dev/null | sed -n 's/.*libstdc++\.so\.6 .*x86-64.* => //p'); do
    for version in $(grep -a -o 'GLIBCXX_3\.4\.[0-9][0-9]*' "$library" 2>/dev/null | sort -u); do
      say glibcxx "${version#GLIBCXX_}"
    done
    break
  done
fi
nvidia-smi --query-gpu=index,name,memory.total,driver_version --format=csv,noheader 2>/dev/null |
  while IFS= read -r line; do case $line in [0-9]*) say gpu "$line" ;; esac; done
say driver "$(sed -n 's/^NVRM version:.*Kernel Module[^0-9]*\([0-9.]*\).*/\1/p' /proc/driver/nvidia/version 2>/dev/null)"
say toolkit "$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
say python "$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/expertscope
say cache "$cache"
umask 077
if why=$(mkdir -p "$cache" 2>&1); then
  say free_kib "$(df -Pk "$cache" 2>/dev/null | tail -n 1 | { read -r _ _ _ free _; printf %s "$free"; })"
  if probe=$(mktemp "$cache/.probe-XXXXXX" 2>&1); then
    if printf '#!/bin/sh\nexit 0\n' 2>/dev/null >"$probe"; then
      chmod 700 "$probe"
      "$probe" 2>/dev/null || say cannot "$cache forbids execution (its file system is mounted noexec)"
    else
      say cannot "the file system of $cache is full"
    fi
    rm -f "$probe"
  else
    say cannot "nothing can be written in $cache: $probe"
  fi
else
  say cannot "$cache cannot be made: $why"
fi
for one in "$cache"/*/MANIFEST; do
  [ -f "$one" ] || continue
  folder=${one%/MANIFEST}
  say bundle "${folder##*/}"
done
for one in "$cache"/cublas/*/lib/libcublasLt.so.13; do
  [ -f "$one" ] || continue
  version=${one#"$cache"/cublas/}
  say cublaslt "${version%%/*}"
done
real=$(cd "$cache" 2>/dev/null && pwd -P)
for one in /proc/[0-9]*/exe; do
  program=$(readlink "$one" 2>/dev/null) || continue
  case $program in
  "$real"/*/bin/expertscope-worker | "$real"/*/bin/expertscope-attach-agent)
    used=${program#"$real"/}
    say in_use "${used%%/*}"
    ;;
  esac
done
if [ -f "$cache/$1/MANIFEST" ] && [ "$(sha256sum <"$cache/$1/MANIFEST")" = "$1  -" ] &&
  (cd "$cache/$1" && sha256sum --quiet -c MANIFEST && [ -z "$(find . ! -type f ! -type d)" ] &&
    [ "$(find . -type f | wc -l)" -eq "$(($(wc -l <MANIFEST) + 1))" ]) >/dev/null 2>&1; then
  touch -c "$cache/$1/MANIFEST"
  say has_bundle yes
fi
say end yes
)script";

}  // namespace app
