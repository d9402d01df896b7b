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

TEST(CommandWords, BlanksSeparateWords) {
  EXPECT_THAT(words("  python train.py\t--steps 10 "),
              ElementsAre("python", "train.py", "--steps", "10"));
}

TEST(CommandWords, QuotesKeepBlanksAndWhatAShellWouldRead) {
  EXPECT_THAT(words(R"(sh -c 'a | b $c' "d \"e\" \n" f\ g '')"),
              ElementsAre("sh", "-c", "a | b $c", "d \"e\" \\n", "f g", ""));
  EXPECT_THAT(words(R"(--name="two words"'!')"), ElementsAre("--name=two words!"));
}

TEST(CommandWords, AnOpenQuoteIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("python 'train.py"), HasSubstr("' at character 8 is not closed"));
  EXPECT_THAT(refusal("python \"a 'b'"), HasSubstr("\" at character 8 is not closed"));
  EXPECT_THAT(refusal("python \\"), HasSubstr("backslash at the end"));
}

TEST(CommandWords, WhatOnlyAShellCouldDoIsRefused) {
  for (const char* text :
       {"a | b", "a > log", "a && b", "echo $HOME", "a \"$HOME\"", "ls *", "~/a"})
    EXPECT_THAT(refusal(text), HasSubstr("would need a shell")) << text;
}

TEST(CommandWords, SettingsOfVariablesAreThoseOfEnv) {
  EXPECT_THAT(words("RANK=0 A_1=x python t.py B=2"),
              ElementsAre("env", "RANK=0", "A_1=x", "python", "t.py", "B=2"));
  EXPECT_THAT(words("--a=b c"), ElementsAre("--a=b", "c"));
}

TEST(CommandWords, NothingIsNoCommand) {
  EXPECT_THAT(refusal(" \t"), HasSubstr("Type the command"));
  EXPECT_THAT(words("''"), ElementsAre(""));
}

}  // namespace
}  // namespace app
