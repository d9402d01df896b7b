// A fuzz target is one file with LLVMFuzzerTestOneInput() and the two functions declared first
// here. It is built twice from that file: with libFuzzer (tests/run --fuzz), and with
// replay_main.cpp as a plain test of the corpus and of seeded mutations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);
/// Changes bytes[0, size) at random, to at most `capacity`; returns the new size. libFuzzer's own
/// or replay_main.cpp's.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size,
                                        std::size_t capacity);

namespace fuzz {

/// Sound inputs to start from, beside those of corpus/TARGET: whatever the project's own writers
/// can make, so that they follow the format without anybody's help.
std::vector<std::string> seeds();
/// Words of the format that mutations put in.
std::vector<std::string> dictionary();

/// What must hold whatever the input; if not, says so and aborts.
void require(bool holds, std::string_view claim, std::string_view found = {});

/// How often accepted() has said yes and no.
struct Verdicts {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
};
Verdicts verdicts();
/// For readers that answer with a sentence alone; empty = accepted.
bool accepted_unless(const std::string& refusal);
void require_sentence(const std::string& message);
bool count(bool accepted);

/// Whether the reader took its input (engine::Result or Status). A refusal must be a sentence.
template <class Outcome>
bool accepted(const Outcome& outcome) {
  if (!outcome.ok()) require_sentence(outcome.error().message);
  return count(outcome.ok());
}

/// What reading an input may cost: a second of CPU, and memory in proportion to the input (seen in
/// builds with the address sanitizer only). Checked when the scope ends.
class CostLimit {
 public:
  explicit CostLimit(std::size_t input_bytes);
  /// For readers with a budget of their own.
  explicit CostLimit(std::size_t input_bytes, std::size_t memory_bytes);
  ~CostLimit();
  CostLimit(const CostLimit&) = delete;
  CostLimit& operator=(const CostLimit&) = delete;

 private:
  std::size_t memory_bytes_;
  double begin_seconds_;
};

/// A folder of this process in memory (/dev/shm where there is one), removed at the end.
const std::string& scratch_folder();
/// Path of the scratch file `name`, which holds these bytes from now on.
std::string scratch_file(const std::string& name, std::string_view bytes);
std::string content_of(const std::string& path);

/// For LLVMFuzzerCustomMutator(): random choices, and text back into libFuzzer's buffer.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word();
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(word() % bound); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Range>
  const auto& pick(const Range& range) {
    return range[below(std::size(range))];
  }

 private:
  std::uint64_t state_;
};
/// Left as it was if the text is empty or too long.
std::size_t put_back(const std::string& text, std::uint8_t* bytes, std::size_t size,
                     std::size_t capacity);
/// The text after LLVMFuzzerMutate().
std::string mutated(const std::string& text, std::size_t capacity);

}  // namespace fuzz
