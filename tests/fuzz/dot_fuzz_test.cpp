// Thousands of spoiled dot files: each gives a sound snapshot or a sentence, and never more than
// that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "profiling/graph/dot_import.h"
#include "profiling/graph/snapshot_check.h"

namespace profiling {
namespace {

int rounds(int usual) {
  const char* const factor = std::getenv("EXPERTSCOPE_FUZZ_ROUNDS");
  return factor == nullptr ? usual : usual * std::max(1, std::atoi(factor));
}

std::string content_of(const std::string& name) {
  std::ifstream file(std::string(DOT_FILES "/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kTokens[] = {"\"",
                                        "{",
                                        "}",
                                        "|",
                                        "[",
                                        "];",
                                        "->",
                                        "\n",
                                        "\r\n",
                                        "<<<",
                                        ">>>",
                                        "\\<\\<\\<",
                                        "\\>\\>\\>",
                                        "label=",
                                        "graph_1",
                                        "graph_3",
                                        "0x",
                                        "KERNEL",
                                        "MEMSET",
                                        "MEMCPY",
                                        "CONDITIONAL",
                                        "{ID |",
                                        "subgraph ",
                                        "digraph ",
                                        "(",
                                        ",",
                                        "18446744073709551615",
                                        "-1",
                                        "99999999999999999999",
                                        "\xC3",
                                        "_Z",
                                        "ptr",
                                        "Width",
                                        "dptr",
                                        "shape=\"octagon\""};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string spoil(std::string text) {
    for (std::size_t steps = 1 + below(6); steps > 0; --steps) {
      if (text.empty()) return text;
      const std::size_t at = below(text.size());
      const std::size_t size = 1 + below(std::min<std::size_t>(200, text.size() - at));
      switch (below(7)) {
        case 0:
          text[at] = static_cast<char>(random_());
          break;
        case 1:
          text.erase(at, size);
          break;
        case 2:
          text.insert(below(text.size()), text.substr(at, size));
          break;
        case 3:
          text.insert(at, kTokens[below(std::size(kTokens))]);
          break;
        case 4:
          swap_lines(text);
          break;
        case 5:
          text.replace(at, 1, kTokens[below(std::size(kTokens))]);
          break;
        default:
          if (below(4) == 0) text.resize(at);
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  void swap_lines(std::string& text) {
    const std::size_t first = text.find('\n', below(text.size()));
    const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
    if (second == std::string::npos) return;
    const std::string line = text.substr(first + 1, second - first);
    text.erase(first + 1, second - first);
    const std::size_t target = text.find('\n', below(text.size()));
    text.insert(target == std::string::npos ? 0 : target + 1, line);
  }
  std::mt19937_64 random_;
};

TEST(DotFuzz, SpoiledFiles) {
  const std::vector<std::string> seeds = {content_of("verbose.dot"), content_of("plain.dot"),
                                          content_of("unescaped.dot")};
  Mutator mutator(20261121);
  int imported = 0;
  int refused = 0;
  for (int i = 0; i < rounds(30000); ++i) {
    const std::string text = mutator.spoil(seeds[static_cast<std::size_t>(i) % seeds.size()]);
    const auto snapshot = import_dot(text, "f");
    if (!snapshot.ok()) {
      EXPECT_THAT(snapshot.error().message, testing::StartsWith("f: line ")) << text;
      EXPECT_EQ(snapshot.error().code, engine::ErrorCode::InvalidArgument);
      ++refused;
      continue;
    }
    const engine::Status sound = check_snapshot(snapshot.value());
    EXPECT_TRUE(sound.ok()) << sound.error().message << '\n' << text;
    EXPECT_FALSE(snapshot.value().graphs.empty());
    ++imported;
  }
  EXPECT_GT(imported, 500) << "the mutations leave nothing that is read to its end";
  EXPECT_GT(refused, 500) << "the mutations hit nothing that is checked";
}

}  // namespace
}  // namespace profiling
