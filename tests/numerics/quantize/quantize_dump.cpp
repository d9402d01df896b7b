// Runs CPU recipes on files and writes their raw outputs, so that an oracle in another language can
// compare them. Buffers start as sentinels: untouched elements stay recognisable.
//   quantize_dump key=value...      one case
//   quantize_dump cases=FILE        one case per line
// Outputs are written as PREFIX.NAME, where the case says prefix=PREFIX.
#include <cstdio>
#include <exception>
#include <sstream>

#include "tests/numerics/quantize/dump/recipes.h"

namespace {

struct Recipe {
  const char* name;
  void (*run)(const quantize_dump::Case&);
};

constexpr Recipe kRecipes[] = {
    {"offsets", quantize_dump::dump_offsets},   {"per_tensor", quantize_dump::dump_per_tensor},
    {"block", quantize_dump::dump_block},       {"mxfp8", quantize_dump::dump_mxfp8},
    {"nvfp4", quantize_dump::dump_nvfp4},       {"delayed", quantize_dump::dump_delayed},
    {"activate", quantize_dump::dump_activate}, {"sigmoid", quantize_dump::dump_sigmoid},
    {"bias", quantize_dump::dump_bias},         {"dequantize", quantize_dump::dump_dequantize},
};

quantize_dump::Case parse(const std::string& line) {
  std::map<std::string, std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error("not key=value: " + word);
    words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return quantize_dump::Case(std::move(words));
}

void run(const quantize_dump::Case& test) {
  for (const Recipe& recipe : kRecipes) {
    if (test.text("recipe") == recipe.name) return recipe.run(test);
  }
  throw std::runtime_error("unknown recipe: " + test.text("recipe"));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string line;
    for (int i = 1; i < argc; ++i) line += std::string(argv[i]) + " ";
    const quantize_dump::Case words = parse(line);
    if (words.has("cases")) {
      std::ifstream file(words.text("cases"));
      while (std::getline(file, line)) run(parse(line));
    } else {
      run(words);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantize_dump: %s\n", error.what());
    return 1;
  }
  return 0;
}
