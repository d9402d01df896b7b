// The file of settings: a failed save leaves nothing behind, an unreadable file is never lost.
#include "app/gui/shell/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SettingsFile : public ::testing::Test {
 protected:
  SettingsFile() : folder_((fs::temp_directory_path() / "settings-XXXXXX").string()) {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~SettingsFile() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ + "/settings.json"; }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const fs::directory_entry& one : fs::directory_iterator(folder_)) {
      names.insert(one.path().filename().string());
    }
    return names;
  }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  static std::string text_of(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::string folder_;
};

TEST_F(SettingsFile, ComesBackAsSavedAndAlone) {
  Settings settings;
  settings.width = 1000;
  settings.presented = {{Page::Numerics, "layer", "layer.picture_card"},
                        {Page::Performance, "", "performance.roofline_card"}};
  settings.machines.resize(2);
  settings.machines[0].host = "user@gpu1";
  settings.machines[0].gpu = 3;
  settings.machines[0].library = ProvideLibrary::Send;
  settings.machines[0].launcher = {"srun", "--gpus=1"};
  settings.machines[1].host = "gpu2";
  settings.programs = {{"python 'train it.py'", "/data"}, {"a.out", ""}};
  ASSERT_EQ(save_settings(path(), settings), "");
  EXPECT_EQ(load_settings(path()).settings, settings);
  EXPECT_EQ(names(), std::set<std::string>{"settings.json"});
}

TEST_F(SettingsFile, OnlyNamesOfMachinesAreReadAndNotTooMany) {
  std::string machines = R"({"host": "-oProxyCommand=x"}, {"host": ""}, {"library": "send"})";
  for (int i = 0; i < 20; ++i) machines += R"(, {"host": "gpu)" + std::to_string(i) + "\"}";
  write("{\"machines\": [" + machines + "]}");
  const LoadedSettings loaded = load_settings(path());
  EXPECT_EQ(loaded.problem, "");
  ASSERT_EQ(loaded.settings.machines.size(), kMaxRememberedMachines);
  EXPECT_EQ(loaded.settings.machines.front().host, "gpu0");
  for (const char* wrong : {R"([3])", R"([{"host": 3}])", R"([{"host": "a", "gpu": 1e9}])"}) {
    write(std::string(R"({"machines": )") + wrong + "}");
    EXPECT_NE(load_settings(path()).problem, "") << wrong;
  }
}

TEST_F(SettingsFile, OnlyProgramsThatTheFieldsHoldAreReadAndNotTooMany) {
  std::string programs = R"({"folder": "/data"}, {"command": ")" +
                         std::string(kMaxTypedCommand, 'x') + R"("}, {"command": "first"})";
  for (int i = 0; i < 20; ++i) programs += R"(, {"command": "a)" + std::to_string(i) + "\"}";
  write("{\"programs\": [" + programs + "]}");
  const LoadedSettings loaded = load_settings(path());
  EXPECT_EQ(loaded.problem, "");
  ASSERT_EQ(loaded.settings.programs.size(), kMaxRememberedPrograms);
  EXPECT_EQ(loaded.settings.programs.front(), (RememberedProgram{"first", ""}));
  write(R"({"programs": [{"command": 3}]})");
  EXPECT_NE(load_settings(path()).problem, "");
}

TEST(RememberedPrograms, TheNewestIsFirstAndOnce) {
  RememberedPrograms programs;
  for (int i = 0; i < 10; ++i) remember(programs, {std::to_string(i), ""});
  ASSERT_EQ(programs.size(), kMaxRememberedPrograms);
  EXPECT_EQ(programs.front().command, "9");
  remember(programs, {"5", ""});
  ASSERT_EQ(programs.size(), kMaxRememberedPrograms);
  EXPECT_EQ(programs[0].command, "5");
  EXPECT_EQ(programs[1].command, "9");
  EXPECT_EQ(std::ranges::count(programs, RememberedProgram{"5", ""}), 1);
}

TEST_F(SettingsFile, ALinkStaysALink) {
  const std::string kept = std::string(fs::path(path()).parent_path()) + "/dotfiles.json";
  std::ofstream(kept) << "{}";
  fs::create_symlink("dotfiles.json", path());
  Settings settings;
  settings.width = 1000;
  ASSERT_EQ(save_settings(path(), settings), "");
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(load_settings(kept).settings, settings);
}

TEST_F(SettingsFile, TheFormerViewOfPowerOfTwoScalesIsRecipes) {
  write(R"({"page": "numerics", "view": "pow2"})");
  EXPECT_EQ(load_settings(path()).settings.view, "recipes");
}

TEST_F(SettingsFile, AFailedSaveLeavesNothingBehind) {
  fs::create_directory(path());  // cannot be replaced by a file
  EXPECT_THAT(save_settings(path(), {}), HasSubstr(path()));
  EXPECT_EQ(names(), std::set<std::string>{"settings.json"});
}

TEST_F(SettingsFile, AnUnreadableOneIsKeptAndSoIsTheOneBefore) {
  for (const char* text : {"{ not json", R"({"recent": 3})"}) {
    write(text);
    ASSERT_NE(load_settings(path()).problem, "");
    EXPECT_THAT(set_aside_unreadable(path()), HasSubstr("kept as " + path() + ".unreadable"));
    ASSERT_EQ(save_settings(path(), {}), "");
  }
  EXPECT_EQ(names(), (std::set<std::string>{"settings.json", "settings.json.unreadable",
                                            "settings.json.unreadable-2"}));
  EXPECT_EQ(text_of(path() + ".unreadable"), "{ not json");
  EXPECT_EQ(text_of(path() + ".unreadable-2"), R"({"recent": 3})");
}

}  // namespace
}  // namespace app
