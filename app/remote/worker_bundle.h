// The worker and everything it needs beside glibc and the NVIDIA driver, as one archive that is
// unpacked on another machine:
//   bin/expertscope-worker, bin/expertscope-guard, bin/expertscope-attach-agent
//   lib/expertscope/       the shared libraries that the worker loads, found by its run path,
//                          and the one that attach preloads, which only builds with CUDA have
//   lib/expertscope/c++/   libstdc++ and libgcc_s, only for machines whose own are too old
//   share/expertscope/     fetch_cublaslt.py
//   MANIFEST               the SHA-256 of each of these, as sha256sum prints them
// A bundle is named by the SHA-256 of its MANIFEST, so that equal programs have equal names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/model/error.h"

namespace app {

struct WorkerBundle {
  std::string path;         // of the archive: tar, compressed with gzip
  std::string name;         // 64 digits
  std::uint64_t bytes = 0;  // of the archive
  bool cuda = false;        // its worker has the CUDA backends
};

/// 64 lower-case hexadecimal digits.
bool is_bundle_name(std::string_view name);

/// The bundle of the worker in `programs`, a folder: one in the user's cache, made now, which takes
/// seconds, if the worker has changed since. Errors name the program that failed (ldd, tar) or the
/// library that is missing.
engine::Result<WorkerBundle> provide_bundle(const std::string& programs,
                                            const std::function<bool()>& stop);

/// Writes a bundle from the cache to another place.
engine::Result<WorkerBundle> copy_bundle(WorkerBundle bundle, const std::string& path);

}  // namespace app
