#include "app/attach/command_words.h"

#include <gmock/gmock.h>

namespace app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(std::string_view text) {
  const auto split = command_words(text);
  return split.ok() ? split.value() : std::vector<std::string>{"refused", split.error().message};
}
std::string refusal(std::string_view text) {
  const auto split = command_words(text);
  return split.ok() ? "" : split.error().message;
}

TEST(CommandWords, SettingsOfVariablesAreThoseOfEnv) {
  EXPECT_THAT(words("RANK=0 A_1=x python t.py B=2"),
              ElementsAre("env", "RANK=0", "A_1=x", "python", "t.py", "B=2"));
  EXPECT_THAT(words("--a=b c"), ElementsAre("--a=b", "c"));
}

TEST(CommandWords, NothingIsNoCommand) {
  EXPECT_THAT(refusal(" \t"), HasSubstr("type the command"));
  EXPECT_THAT(words("''"), ElementsAre(""));
}

}  // namespace
}  // namespace app
