// Which names of a folder the typed letters find, and which of them Enter would take.
#include "app/gui/shell/file_dialog.h"

#include <gtest/gtest.h>

namespace app {
namespace {

std::vector<std::string> found(const std::string& typed) {
  const std::vector<FolderEntry> entries = {
      {.name = "dump.d", .folder = true},
      {.name = "old", .folder = true},
      {.name = "Dump.npy"},
      {.name = "dump"},
      {.name = "step.dump"},
  };
  std::vector<std::string> names;
  for (const std::size_t at : entries_named(entries, typed)) names.push_back(entries[at].name);
  return names;
}

TEST(FileDialog, NothingTypedKeepsTheOrderOfTheFolder) {
  EXPECT_EQ(found(""),
            (std::vector<std::string>{"dump.d", "old", "Dump.npy", "dump", "step.dump"}));
}

TEST(FileDialog, TheNameItselfComesBeforeBeginningsAndThoseBeforeTheRest) {
  EXPECT_EQ(found("dump"), (std::vector<std::string>{"dump", "dump.d", "Dump.npy", "step.dump"}));
  EXPECT_EQ(found("DUMP.N"), (std::vector<std::string>{"Dump.npy"}));
  EXPECT_TRUE(found("weights").empty());
}

}  // namespace
}  // namespace app
