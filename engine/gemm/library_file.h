// A cuBLASLt library as a file: opened once, checked, and loaded through the descriptor that was
// checked, so that it cannot be replaced in between. No CUDA: the tests load their own libraries,
// and a fetched library is checked here too.
//
// What is checked: a file under <cache>/cublas/<version> must be the pinned one of that version, be
// owned by this user or root, and not be writable by others. It is hashed when it is first seen and
// again whenever owner, device, inode, size, modification or change time differ from those noted
// beside it then. So a damaged, replaced or partly copied file is detected, even if its
// modification time was reset (the change time cannot be). The note is in the same cache: a process
// that runs as this user could forge it, but could also change this user's programs. A file
// elsewhere is loaded unchecked: the user named it, or the administrator installed it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace engine {

// Where cuBLASLt libraries are looked for. No CUDA: the window and the CPU flavour list them too.

/// The places of the search, in order of preference. Empty ones are skipped.
struct CublasLtPlaces {
  std::string named;  // $EXPERTSCOPE_CUBLASLT, a file
  std::string executable_folder;
  std::string cache_folder;  // holds cublas/<version>/lib; the newest version comes first
  std::vector<std::string> system_folders;
};

/// The places of this process.
CublasLtPlaces cublaslt_places();

/// Libraries that exist, best first, without duplicates.
std::vector<std::string> find_cublaslt_libraries(const CublasLtPlaces& places = cublaslt_places());

/// A version whose content is known.
struct PinnedLibrary {
  std::string_view version;  // "13.10.0.20"
  std::string_view sha256;   // of libcublasLt.so.13 for x86-64 Linux
  std::string_view purpose;  // why one would fetch it
};
/// Those that can be fetched, oldest first; assets/fetch_cublaslt.py pins the wheels they come in.
const std::vector<PinnedLibrary>& pinned_libraries();

class LibraryFile {
 public:
  /// Opens and checks `path`. NotFound, or InvalidArgument where it is not what it should be; the
  /// error names the file, what is wrong and the remedy. Hashing takes seconds.
  static Result<LibraryFile> open(const std::string& path);
  static Result<LibraryFile> open(const std::string& path, const CublasLtPlaces& places,
                                  const std::vector<PinnedLibrary>& pins);
  LibraryFile(LibraryFile&& other) noexcept;
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;
  LibraryFile& operator=(LibraryFile&&) = delete;
  ~LibraryFile();

  const std::string& path() const { return path_; }
  /// Hashed by open(), not only compared with the note.
  bool hashed() const { return hashed_; }
  /// A dlopen() handle with local symbols. The library and its descriptor stay open until the
  /// process ends: the loader identifies a library by its name, so a reused descriptor number would
  /// return this library.
  Result<void*> load();

 private:
  LibraryFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Status check_cached(const std::string& folder, const PinnedLibrary& pin);

  std::string path_;
  int descriptor_ = -1;
  bool hashed_ = false;
};

}  // namespace engine
