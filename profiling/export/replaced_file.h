// A file that is written completely or not at all: next to its destination, renamed over it by
// commit(), removed otherwise.
#pragma once

#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "engine/model/error.h"

namespace profiling {

class ReplacedFile {
 public:
  /// For everybody, less what the process's umask takes away.
  static constexpr mode_t kUsualMode = 0666;
  /// For the user alone.
  static constexpr mode_t kPrivateMode = 0600;

  static engine::Result<ReplacedFile> create(const std::string& path, mode_t mode = kUsualMode);
  ReplacedFile(ReplacedFile&& other) noexcept;
  ReplacedFile& operator=(ReplacedFile&&) = delete;
  ~ReplacedFile();

  /// Errors are reported by commit(), so that writers need not check every line.
  void write(std::string_view text);
  /// Flushes to the disk and replaces the destination.
  engine::Status commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  ReplacedFile(std::string path, std::string temporary, std::FILE* file);

  std::string path_;
  std::string temporary_;  // empty if there is nothing to remove
  std::unique_ptr<std::FILE, Close> file_;
  int error_ = 0;  // errno of the first failed write
};

}  // namespace profiling
