// A file in the test's own temporary folder, removed with the object.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& contents)
      : path_(testing::TempDir() + "expertscope_" + std::to_string(::getpid()) + "_" + name) {
    std::ofstream(path_, std::ios::binary) << contents;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
