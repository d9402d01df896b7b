// A typed line becomes the words that a shell would make of it, and words become a line that gives
// the same words again.
#include "app/protocol/typed_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> words(const std::string& typed) {
  const auto read = words_of(typed);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? read.value() : std::vector<std::string>{"refused"};
}

std::string refusal(const std::string& typed) {
  const auto read = words_of(typed);
  return read.ok() ? "taken" : read.error().message;
}

TEST(TypedWords, BlanksSeparateAndQuotesKeep) {
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \t "), IsEmpty());
  EXPECT_THAT(words("srun --gres=gpu:1"), ElementsAre("srun", "--gres=gpu:1"));
  EXPECT_THAT(words("  srun\t-p  a "), ElementsAre("srun", "-p", "a"));
  EXPECT_THAT(words("srun --comment='two words' --x=\"y z\"w"),
              ElementsAre("srun", "--comment=two words", "--x=y zw"));
  EXPECT_THAT(words("a '' \"\" b"), ElementsAre("a", "", "", "b"));
  EXPECT_THAT(words(R"(a\ b \" '\' "\"\\\n")"), ElementsAre("a b", "\"", "\\", R"("\\n)"));
}

TEST(TypedWords, WhatOnlyAShellCouldDoIsRefused) {
  for (const char* text :
       {"a | b", "a > log", "a && b", "srun $HOME", "a \"$HOME\"", "`id`", "ls *", "~/a", "a ~"}) {
    EXPECT_THAT(refusal(text), HasSubstr("would need a shell")) << text;
  }
  EXPECT_THAT(refusal("a | b"), HasSubstr("the '|' at character 3"));
  EXPECT_THAT(words(R"(sh -c 'a | b $c' "\$d" \* e~)"),
              ElementsAre("sh", "-c", "a | b $c", "$d", "*", "e~"));
}

TEST(TypedWords, AQuoteThatIsNotClosedIsNamed) {
  EXPECT_THAT(refusal("srun --comment=\"two words"),
              HasSubstr("the quote in front of 'two words' is not closed; type another \""));
  EXPECT_THAT(refusal("srun '"), HasSubstr("the quote in front of nothing is not closed"));
  EXPECT_THAT(refusal("it's"), HasSubstr("in front of 's' is not closed; type another '"));
  EXPECT_THAT(refusal("srun \\"), HasSubstr("nothing follows the last \\"));
  EXPECT_THAT(refusal("\"\\"), HasSubstr("is not closed"));
}

TEST(TypedWords, EveryWordSurvivesItsLine) {
  const std::vector<std::string> all = {"srun",     "",     " ",          "it's",
                                        "\"",       "\\",   "$(id) `id`", "a\tb",
                                        "a\nb",     "\\'",  "''",         std::string(300, '\''),
                                        "\xC3\xA9", "\xFF", "#",          "--x=y z"};
  EXPECT_EQ(words(typed_words(all)), all);
}

TEST(TypedWords, TheyAreShownOneByOne) {
  EXPECT_EQ(shown_words({"srun", "a b", "\"\x1B"}), R"(["srun", "a b", "\"\u001b"])");
  EXPECT_EQ(shown_words({}), "[]");
}

}  // namespace
}  // namespace app
