// A fuzz target without libFuzzer: replays the corpus and the target's own seeds, then mutations of
// them from a fixed seed. An input that ends the process is left behind as a file.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

// Only some targets have one.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes,
                                                                     std::size_t size,
                                                                     std::size_t capacity,
                                                                     unsigned int seed);

namespace {

constexpr int kHangSeconds = 60;  // of wall time on a machine that may be busy
constexpr std::size_t kMostBytes = std::size_t{1} << 16;

fuzz::Dice& dice() {
  static fuzz::Dice of_all(20261122);
  return of_all;
}

const std::vector<std::string>& words() {
  static const std::vector<std::string> all = fuzz::dictionary();
  return all;
}

// Where the input under test lies, for the handler of a signal.
const std::string* current = nullptr;
char finding_name[] = "finding-XXXXXX";

void keep_and_die(int signal_number) {
  // Only calls that are safe in a handler.
  const int file = ::mkstemp(finding_name);
  if (current != nullptr && file >= 0) {
    const ssize_t written = ::write(file, current->data(), current->size());
    const char text[] = "the input that led here is kept as ./";
    const bool told = written >= 0 && ::write(2, text, sizeof(text) - 1) > 0 &&
                      ::write(2, finding_name, sizeof(finding_name) - 1) > 0 &&
                      ::write(2, "\n", 1) > 0;
    static_cast<void>(told);
  }
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

void run(const std::string& input) {
  current = &input;
  ::alarm(kHangSeconds);
  // A copy of exactly its size, so that a sanitizer sees the first byte read past its end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ::alarm(0);
  current = nullptr;
}

void move_line(std::string& text) {
  const std::size_t first = text.find('\n', dice().below(text.size()));
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (second == std::string::npos) return;
  const std::string line = text.substr(first + 1, second - first);
  text.erase(first + 1, second - first);
  const std::size_t target = text.find('\n', dice().below(text.size()));
  text.insert(target == std::string::npos ? 0 : target + 1, line);
}

void spoil_once(std::string& text) {
  if (text.empty()) text.push_back('\n');
  const std::size_t at = dice().below(text.size());
  const std::size_t size = 1 + dice().below(std::min<std::size_t>(200, text.size() - at));
  switch (dice().below(8)) {
    case 0:
      text[at] = static_cast<char>(dice().word());
      break;
    case 1:
      text.erase(at, size);
      break;
    case 2:
      text.insert(dice().below(text.size()), text.substr(at, size));
      break;
    case 3:
      if (!words().empty()) text.insert(at, dice().pick(words()));
      break;
    case 4:
      if (!words().empty()) text.replace(at, 1, dice().pick(words()));
      break;
    case 5:
      text[at] = static_cast<char>(text[at] ^ (1 << dice().below(8)));
      break;
    case 6:
      move_line(text);
      break;
    default:
      if (dice().one_in(4)) text.resize(at);
  }
}

std::string spoiled(const std::string& seed) {
  std::string text = seed;
  for (std::size_t steps = 1 + dice().below(6); steps > 0; --steps) {
    if (LLVMFuzzerCustomMutator == nullptr) {
      spoil_once(text);
    } else {
      const std::size_t size = std::min(text.size(), kMostBytes);
      text.resize(kMostBytes);
      text.resize(LLVMFuzzerCustomMutator(reinterpret_cast<std::uint8_t*>(text.data()), size,
                                          kMostBytes, static_cast<unsigned>(dice().word())));
    }
  }
  return text;
}

/// The files of a folder, or the file itself.
void collect(const std::string& path, std::vector<std::string>& inputs) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return inputs.push_back(fuzz::content_of(path));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) inputs.push_back(fuzz::content_of(name));
}

/// In the form of libFuzzer's -dict.
std::string dictionary_text() {
  std::string text;
  for (const std::string& word : words()) {
    text += '"';
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      const bool plain = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02X", byte);
      text += plain ? std::string(1, c) : std::string(escaped);
    }
    text += "\"\n";
  }
  return text;
}

void prepare(const std::string& folder) {
  std::filesystem::create_directories(folder + "/seeds");
  const std::vector<std::string> seeds = fuzz::seeds();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream(folder + "/seeds/" + std::to_string(i), std::ios::binary) << seeds[i];
  }
  std::ofstream(folder + "/dictionary") << dictionary_text();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size,
                                        std::size_t capacity) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  spoil_once(text);
  return fuzz::put_back(text.substr(0, capacity), bytes, size, capacity);
}

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--prepare") {
    prepare(arguments[1]);
    return 0;
  }
  int rounds = 0;
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--rounds" && i + 1 < arguments.size()) {
      rounds = std::atoi(arguments[++i].c_str());
      const char* const factor = std::getenv("EXPERTSCOPE_FUZZ_ROUNDS");
      if (factor != nullptr) rounds *= std::max(1, std::atoi(factor));
    } else if (arguments[i].starts_with("-")) {
      std::fprintf(stderr,
                   "Usage: %s FILE...                        replays these inputs\n"
                   "       %s --rounds N FOLDER-OR-FILE...   and the target's seeds, and N "
                   "mutations\n"
                   "       %s --prepare FOLDER               writes FOLDER/seeds and "
                   "FOLDER/dictionary for libFuzzer\n",
                   argv[0], argv[0], argv[0]);
      return arguments[i] == "--help" ? 0 : 2;
    } else {
      collect(arguments[i], inputs);
    }
  }
  if (rounds > 0) {
    for (std::string& seed : fuzz::seeds()) inputs.push_back(std::move(seed));
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) {
    ::signal(number, keep_and_die);
  }
  for (const std::string& input : inputs) run(input);
  const fuzz::Verdicts sound = fuzz::verdicts();
  for (int i = 0; i < rounds; ++i)
    run(spoiled(inputs[static_cast<std::size_t>(i) % inputs.size()]));
  const fuzz::Verdicts all = fuzz::verdicts();
  const auto accepted = all.accepted - sound.accepted;
  const auto refused = all.refused - sound.refused;
  std::printf("%zu inputs and %d mutations: %llu times accepted, %llu refused\n", inputs.size(),
              rounds, static_cast<unsigned long long>(accepted),
              static_cast<unsigned long long>(refused));
  // Mutations that only ever end one way test half of a reader at most.
  const auto few = static_cast<std::uint64_t>(rounds) / 100;
  fuzz::require(accepted >= few, "some mutations are read to their end");
  fuzz::require(refused >= few, "some mutations hit what is checked");
  return 0;
}
