// An ssh that is first on PATH while it lives and does what sshd does: the words after the
// destination, joined by blanks, are one line for `sh -c`. The local environment is not passed on.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace app::testing {

class FakeSsh {
 public:
  FakeSsh()
      : folder_(::testing::TempDir() + "fake_ssh." + std::to_string(::getpid())),
        path_(std::getenv("PATH")) {
    std::filesystem::create_directories(folder_);
    // Like ssh: options until "--", then the destination.
    write_program("ssh",
                  "while [ \"$1\" != -- ]; do shift; done\nshift\n"
                  "echo \"$1\" > \"$FAKE_SSH/destination\"\nshift\n"
                  "cd \"$FAKE_SSH\" && exec env -i PATH=\"$PATH\" FAKE_SSH=\"$FAKE_SSH\" "
                  "sh -c \"$*\"\n");
    ::setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    ::setenv("FAKE_SSH", folder_.c_str(), 1);
  }
  ~FakeSsh() {
    ::setenv("PATH", path_.c_str(), 1);
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  FakeSsh(const FakeSsh&) = delete;  // there is only one PATH
  FakeSsh& operator=(const FakeSsh&) = delete;

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  /// A program on the remote machine's PATH. Runs in the folder.
  void write_program(const std::string& name, const std::string& body) const {
    std::ofstream(file(name)) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
  }
  /// Whether one of the malicious words was executed.
  bool owned() const { return std::filesystem::exists(file("owned")); }

 private:
  const std::string folder_;
  const std::string path_;
};

}  // namespace app::testing
