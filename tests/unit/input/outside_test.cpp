// Validation of untrusted texts, JSON and files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/input/file_kind.h"
#include "engine/input/json_text.h"
#include "engine/input/presets.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/regular_file.h"
#include "engine/input/tensor_source.h"
#include "engine/model/text.h"

namespace engine {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(JsonNumber, IsInRangeOrNamedWithItsLimits) {
  const nlohmann::json object = nlohmann::json::parse(
      R"({"a": 7, "b": 4294967296, "c": 1e300, "d": 1.5, "e": "7", "f": 18446744073709551615,)"
      R"( "g": -3, "h": null})");
  EXPECT_EQ(whole_number(object, "a", 0, 10).value(), 7);
  EXPECT_EQ(whole_number(object, "g", -3, 10).value(), -3);
  EXPECT_EQ(whole_number(object, "missing", 0, 10, 5).value(), 5);
  for (const char* const key : {"b", "c", "d", "e", "f", "g", "h", "missing"}) {
    const auto number = whole_number(object, key, 0, 2147483647);
    ASSERT_FALSE(number.ok()) << key;
    EXPECT_THAT(number.error().message,
                AllOf(HasSubstr(std::string("'") + key + "' is "),
                      EndsWith("it must be a whole number from 0 to 2147483647")));
  }
  EXPECT_THAT(whole_number(object, "b", 0, 9).error().message, HasSubstr("'b' is 4294967296;"));
  EXPECT_EQ(real_number(object, "d", 0, 2).value(), 1.5);
  EXPECT_EQ(real_number(object, "missing", 0, 2, 1.25).value(), 1.25);
  EXPECT_FALSE(real_number(object, "c", 0, 86400, 1).ok());
  EXPECT_FALSE(real_number(object, "h", 0, 86400, 1).ok());
}

TEST(ShownText, KeepsWordsOfEveryLanguage) {
  for (const std::string text :
       {"", "plain", "two\nlines\tand a tab", "Grüße, 日本語, Ωμ, 🙂", "…"}) {
    EXPECT_TRUE(is_shown_text(text)) << text;
    EXPECT_EQ(shown_text(text), text);
  }
}

TEST(ShownText, EscapesControlAndInvisibleCharacters) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x1b[2J", "\\u001b[2J"},
      {std::string("a\0b", 3), "a\\u0000b"},
      {"\a\b\r\x7f", "\\u0007\\u0008\\u000d\\u007f"},
      {"\u009b31m", "\\u009b31m"},
      {"a\u202Eb", "a\\u202eb"},
      {"\u2066x\u2069", "\\u2066x\\u2069"},
      {"a\u200Bb", "a\\u200bb"},
      {"\uFEFFa", "\\ufeffa"},
      {"a\u2028b", "a\\u2028b"},
      {"\xFF\xC3", "\\xff\\xc3"},
      {"\xED\xA0\x80", "\\xed\\xa0\\x80"},
      {"\xC0\xAF", "\\xc0\\xaf"},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_FALSE(is_shown_text(text)) << shown;
    EXPECT_EQ(shown_text(text), shown);
    EXPECT_EQ(shown_text(shown_text(text)), shown);
  }
}

TEST(ShownText, IsCutVisiblyAtWholeCharacters) {
  EXPECT_EQ(shown_text("12345678", 8), "12345678");
  EXPECT_EQ(shown_text("123456789", 8), "12345…");
  EXPECT_EQ(shown_text("1234ü6789", 8), "1234…");
  EXPECT_EQ(shown_text("12\x1b", 8), "12\\u001b");
  EXPECT_EQ(shown_text("12\x1b-", 8), "12…");
  EXPECT_EQ(cut_text("1234ü6789", 8), "1234…");
  for (const std::string piece : {"x", "ü", "日", "\x1b", "\xFF", "\u202E", "\n"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += piece;
    const std::string shown = shown_text(text);
    EXPECT_LE(shown.size(), kMaxTextBytes);
    EXPECT_GT(shown.size(), kMaxTextBytes - 10);
    EXPECT_THAT(shown, EndsWith("…"));
    EXPECT_TRUE(is_shown_text(shown));
    EXPECT_LE(cut_text(text).size(), kMaxTextBytes);
  }
  static_assert(kMaxTextBytes > PATH_MAX, "a path that was cut must not open another file");
}

TEST(FileName, IsNeverAPath) {
  for (const char* title : {"../x", "/etc/passwd", "..", ".", "", "a/b", "....//x", ".hidden",
                            "-rf", "a\nb", "日本", "\x1b[2J"}) {
    const std::string name = file_name_of(title);
    EXPECT_EQ(std::filesystem::path(name).filename(), name) << title;
    EXPECT_FALSE(name.empty() || name.front() == '.' || name.front() == '-') << name;
    EXPECT_TRUE(is_shown_text(name)) << name;
  }
  EXPECT_EQ(file_name_of("01-first-numbers"), "01-first-numbers");
  EXPECT_EQ(file_name_of("../x"), "x");
  EXPECT_LE(file_name_of(std::string(1 << 20, 'x')).size(), 100U);
}

std::string refusal_of(const std::string& json, const JsonLimits& limits = {}) {
  const auto document = parse_json(json, limits);
  return document.ok() ? "parsed" : document.error().message;
}

TEST(Json, NestingIsBoundedBeforeAnythingIsBuilt) {
  const auto nested = [](std::size_t depth, const char* open, const char* close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  EXPECT_EQ(refusal_of(nested(64, "[", "]")), "parsed");
  for (const std::size_t depth : {std::size_t{65}, std::size_t{40'000}, std::size_t{1'000'000}}) {
    EXPECT_THAT(refusal_of(nested(depth, "[", "]")), HasSubstr("deeper than 64 levels"));
    EXPECT_THAT(refusal_of(nested(depth, "{\"a\":", "}")), HasSubstr("deeper than 64 levels"));
  }
  // Brackets in texts are not nesting, whatever precedes their quotes.
  EXPECT_EQ(refusal_of("[\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"]"),
            "parsed");
  EXPECT_THAT(refusal_of("[\"\\\\\"," + std::string(100, '[')), HasSubstr("deeper than 64"));
}

TEST(Json, SizesNamesAndTextsAreBounded) {
  EXPECT_THAT(refusal_of("[1,2,3]", {.max_bytes = 6}), AllOf(HasSubstr("7 bytes"), HasSubstr("6")));
  const std::string huge(1 << 20, 'x');
  EXPECT_THAT(refusal_of("{\"" + huge + "\":1}"), AllOf(HasSubstr("name"), HasSubstr("8192")));
  EXPECT_THAT(refusal_of("{\"a\":\"" + huge + "\"}", {.max_text_bytes = 100}),
              AllOf(HasSubstr("text of 1048576 bytes"), HasSubstr("100")));
  const auto cut = parse_json("{\"a\":[\"" + huge + "\"]}");
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut.value()["a"][0].get<std::string>(), cut_text(huge));
  EXPECT_LT(refusal_of("{\"" + huge).size(), 300U);
  // A tensor that was taken for JSON is not quoted.
  const std::string bytes =
      refusal_of("\x93NUMPY\"" + std::string(100'000, '\x91') + "\"", {.max_text_bytes = 4096});
  EXPECT_TRUE(is_shown_text(bytes)) << bytes;
  EXPECT_THAT(bytes, AllOf(HasSubstr("which is not readable text"), Not(HasSubstr("\\x91"))));
}

TEST(Words, AreComparedInOneForm) {
  for (const char* word : {"fp8-block", "FP8_Block", "fp8 block", "--fp8--block"}) {
    EXPECT_EQ(plain_word(word), "fp8-block") << word;
  }
  EXPECT_EQ(plain_word(""), "");
}

TEST(Words, ATypoOrAPartIsSuggested) {
  const std::vector<std::string> words = {"num_experts", "routing.distribution", "routing.path",
                                          "k"};
  EXPECT_EQ(suggestion("num_expert", words), " (did you mean 'num_experts'?)");
  EXPECT_EQ(suggestion("experts", words), " (did you mean 'num_experts'?)");
  EXPECT_EQ(suggestion("--routing", words),
            " (did you mean 'routing.distribution' or 'routing.path'?)");
  EXPECT_EQ(suggestion("rnu", {"open", "run", "ab"}), " (did you mean 'run'?)") << "exchanged";
  EXPECT_EQ(suggestion("pert", words), "") << "no whole word";
  const std::vector<std::string> recipes{"bf16", "fp8-per-tensor", "fp8-block", "mxfp8"};
  EXPECT_EQ(suggestion("fp8-tensor", recipes), " (did you mean 'fp8-per-tensor'?)");
  EXPECT_EQ(suggestion("FP8 tensor", recipes), " (did you mean 'fp8-per-tensor'?)");
  EXPECT_EQ(suggestion("fp8-row", recipes), "");
  EXPECT_EQ(suggestion("", words), "");
  EXPECT_EQ(suggestion("-", words), "");
}

TEST(FileKind, IsToldByTheFirstBytes) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(kind_of_file("\x93NUMPY\1\0"sv),
              AllOf(HasSubstr("NumPy tensor"), HasSubstr("activations.file.path")));
  EXPECT_THAT(kind_of_file("\x40\0\0\0\0\0\0\0{\"x\""sv), HasSubstr(".safetensors"));
  EXPECT_THAT(kind_of_file("SQLite format 3\0"sv), HasSubstr("recordings"));
  EXPECT_THAT(kind_of_file("digraph dot {"), HasSubstr("--snapshot"));
  EXPECT_THAT(kind_of_file("PK\x03\x04"), HasSubstr(".npz"));
  for (const std::string_view text : {""sv, "{\"shape\": 1}"sv, "[1, 2]"sv, "hello world"sv}) {
    EXPECT_EQ(kind_of_file(text), "") << text;
  }
}

TEST(Json, SaysWhereTextIsNotJson) {
  EXPECT_THAT(refusal_of("{\n\n\"a\":}"), AllOf(HasSubstr("not JSON"), HasSubstr("line 3")));
  EXPECT_THAT(refusal_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of("\"\\"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of("[1e999]"), HasSubstr("JSON"));
  EXPECT_THAT(refusal_of("[\"\xFF\"]"), HasSubstr("not JSON"));
  EXPECT_EQ(refusal_of("{\"a\":1,\"a\":2}"), "parsed");
  EXPECT_EQ(parse_json("{\"a\":1,\"a\":2}").value()["a"], 2);
  EXPECT_TRUE(written_json("").is_null());
}

class OutsideFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "outside-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

TEST_F(OutsideFiles, OnlyRegularFilesAreOpenedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("/dev/zero", path("link"));
  // Each would hang the test here, and is then ended by its time limit.
  for (const std::string& name :
       {path("fifo"), path("folder"), path("link"), std::string("/dev/tty"), path("none")}) {
    const auto bytes = read_file(name, 1000);
    ASSERT_FALSE(bytes.ok()) << name;
    EXPECT_THAT(bytes.error().message, HasSubstr(name));
    EXPECT_FALSE(MappedFile::open(name).ok());
  }
  EXPECT_THAT(read_file(path("fifo"), 1000).error().message, HasSubstr("FIFO"));
  EXPECT_THAT(read_file(path("link"), 1000).error().message, HasSubstr("device"));
  EXPECT_EQ(read_file(path("none"), 1000).error().code, ErrorCode::NotFound);
  EXPECT_FALSE(read_file(std::string("a\0b", 3), 1000).ok());
}

/// A tensor [1024, 64] of ones as float32.
void write_tensor(const std::string& path) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 64), }";
  header.resize(117, ' ');
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n';
  const std::vector<float> ones(1024 * 64, 1.0F);
  file.write(reinterpret_cast<const char*>(ones.data()), 1024 * 64 * sizeof(float));
}

TEST_F(OutsideFiles, ATensorFileThatShrinksWhileItIsReadIsAnErrorThatNamesIt) {
  survive_missing_pages();
  for (const bool closed_before_the_check : {false, true}) {
    write_tensor(path("x.npy"));
    RunRequest request;
    request.shape = {.preset = "", .num_experts = 4, .rows = 1024, .n = 64, .k = 64};
    request.activations = FileInput{.path = path("x.npy"), .tensor = ""};
    auto source = open_source(request, OperandRole::Activations, 0);
    ASSERT_TRUE(source.ok()) << source.error().message;
    std::vector<float> values(1024 * 64);
    source.value()->read_f32(0, 1024, values);
    EXPECT_TRUE(check_missing_pages().ok());
    std::filesystem::resize_file(path("x.npy"), 8192);
    source.value()->read_f32(0, 1024, values);
    EXPECT_EQ(values.front(), 1.0F);
    EXPECT_EQ(values.back(), 0.0F);
    if (closed_before_the_check) source = Error{};
    const Status shrunk = check_missing_pages();
    ASSERT_FALSE(shrunk.ok());
    EXPECT_EQ(shrunk.error().code, ErrorCode::Io);
    EXPECT_THAT(shrunk.error().message, HasSubstr(path("x.npy") + " became shorter"));
    EXPECT_TRUE(check_missing_pages().ok()) << "it is reported once";
  }
}

using OutsideFilesDeathTest = OutsideFiles;

TEST_F(OutsideFilesDeathTest, AnyOtherBusErrorStillEndsTheProgram) {
  const auto fail = [] {
    survive_missing_pages();
    ::raise(SIGBUS);
  };
  EXPECT_EXIT(fail(), testing::KilledBySignal(SIGBUS), "");
}

TEST_F(OutsideFiles, EveryReaderRefusesAFifo) {
  RoutingSpec routing;
  for (const char* name : {"splits.json", "splits.npy", "splits.safetensors", "preset.json"}) {
    ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
    routing.path = path(name);
    EXPECT_FALSE(read_recorded_routing(routing, 0).ok()) << name;
  }
  EXPECT_FALSE(load_presets(path("")).ok());
}

TEST_F(OutsideFiles, HugeFilesAreRefusedByTheirSizeNotByMemory) {
  std::ofstream(path("huge")) << "begin";
  std::filesystem::resize_file(path("huge"), std::uintmax_t{1} << 40);  // a hole
  const auto bytes = read_file(path("huge"), 1000);
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.error().message,
              AllOf(HasSubstr(path("huge")), HasSubstr("1099511627776"), HasSubstr("1000")));
  auto file = RegularFile::open(path("huge"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value().read(5).value(), "begin");
}

TEST_F(OutsideFiles, AreReadWhole) {
  const std::string text(1'000'000, 'y');
  std::ofstream(path("file")) << text;
  EXPECT_EQ(read_file(path("file"), text.size()).value(), text);
  EXPECT_FALSE(read_file(path("file"), text.size() - 1).ok());
  std::ofstream(path("empty")).flush();
  EXPECT_EQ(read_file(path("empty"), 10).value(), "");
}

}  // namespace
}  // namespace engine
