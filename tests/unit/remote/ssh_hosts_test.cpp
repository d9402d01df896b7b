// The names that a ssh configuration offers, as ssh itself would read them; hostile files end.
#include "app/remote/ssh_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace app {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SshHosts : public ::testing::Test {
 protected:
  SshHosts() : home_((fs::temp_directory_path() / "ssh-hosts-XXXXXX").string()) {
    EXPECT_NE(::mkdtemp(home_.data()), nullptr);
    fs::create_directories(home_ + "/.ssh/more");
  }
  ~SshHosts() override { fs::remove_all(home_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(home_ + "/.ssh/" + name) << text;
  }
  std::vector<std::string> hosts() const { return ssh_hosts(home_); }

  std::string home_;
};

TEST_F(SshHosts, AreTheNamesOfHostLines) {
  write("config",
        "# Host commented\n"
        "Host gpu2 gpu1\n  HostName 10.0.0.1\n"
        "hOsT=alpha beta # gamma\n"
        "HOST = delta\r\n"
        "  Host \"quoted\" gpu1\n"
        "Hostname never\nUser me\nMatch host no\nHost\nHost =\n");
  EXPECT_THAT(hosts(), ElementsAre("alpha", "beta", "delta", "gpu1", "gpu2", "quoted"));
}

TEST_F(SshHosts, PatternsAndWhatSshWouldNotTakeAreLeftOut) {
  write("config", "Host * gpu? !gpu3 *.lan plain -oProxyCommand=x \"two words\" $(id) a;b\n");
  EXPECT_THAT(hosts(), ElementsAre("plain"));
}

TEST_F(SshHosts, IncludedFilesAreRead) {
  write("config",
        "Include more/*.conf missing ~/.ssh/home " + home_ + "/.ssh/absolute\nHost own\n");
  write("more/b.conf", "Host b\n");
  write("more/a.conf", "Host a\n");
  write("more/other", "Host other\n");
  write("home", "Host home\n");
  write("absolute", "Host absolute\n");
  EXPECT_THAT(hosts(), ElementsAre("a", "absolute", "b", "home", "own"));
}

TEST_F(SshHosts, HostileFilesEnd) {
  write("config", "Include config config more/*\nHost reached\n");
  for (int i = 0; i < 400; ++i) write("more/" + std::to_string(i), "Include ../config more/*\n");
  EXPECT_THAT(hosts(), ElementsAre("reached"));
}

TEST_F(SshHosts, WhatIsNoReadableFileHasNone) {
  EXPECT_THAT(ssh_hosts(""), IsEmpty());
  EXPECT_THAT(hosts(), IsEmpty());
  ASSERT_EQ(::mkfifo((home_ + "/.ssh/config").c_str(), 0600), 0);
  EXPECT_THAT(hosts(), IsEmpty());
}

TEST_F(SshHosts, BytesOfAnyKindAndAHugeFileDoNoHarm) {
  std::string bytes = "Host one\n";
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  bytes += "\nHost \"never closed\nHost two";
  write("config", bytes);
  EXPECT_THAT(hosts(), ElementsAre("one", "two"));
  write("config", "Host one\n" + std::string(2 << 20, 'x'));
  EXPECT_THAT(hosts(), IsEmpty());
}

TEST_F(SshHosts, TheListIsLimited) {
  std::string text = "Host";
  for (int i = 0; i < 5000; ++i) text += " h" + std::to_string(i);
  write("config", text);
  EXPECT_EQ(hosts().size(), 2000U);
}

}  // namespace
}  // namespace app
