// Routings that the CPU and the GPU tests of permutation share: even, lopsided, with dropped
// copies, without tokens, and more copies than one thread block places.
#pragma once

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace quantize_tests {

struct RoutingCase {
  std::string name;
  std::int64_t tokens = 0;
  int top_k = 1;
  int num_groups = 1;
  int busy = 0;     // in 16: copies that go to the last expert
  int dropped = 0;  // in 16: copies without an expert, by any of the ways to say so
  std::int64_t columns = 144;
};

inline void PrintTo(const RoutingCase& routing, std::ostream* stream) { *stream << routing.name; }

inline std::vector<RoutingCase> routing_cases() {
  return {
      {.name = "OneCopyEach", .tokens = 300, .num_groups = 7},
      {.name = "TopTwo", .tokens = 117, .top_k = 2, .num_groups = 8, .dropped = 1, .columns = 2320},
      {.name = "TopEight", .tokens = 300, .top_k = 8, .num_groups = 64, .columns = 272},
      {.name = "TopThreeOfOne", .tokens = 100, .top_k = 3, .columns = 16},
      {.name = "OneBusyExpert", .tokens = 700, .top_k = 4, .num_groups = 32, .busy = 15},
      {.name = "ManyDropped", .tokens = 333, .top_k = 6, .num_groups = 5, .dropped = 12},
      {.name = "AllDropped", .tokens = 40, .top_k = 2, .num_groups = 3, .dropped = 16},
      {.name = "NoTokens", .top_k = 2, .num_groups = 4},
      {.name = "FewTokensManyExperts", .tokens = 3, .top_k = 5, .num_groups = 1024},
      {.name = "Experts1024", .tokens = 500, .top_k = 10, .num_groups = 1024, .columns = 128},
      {.name = "Experts257", .tokens = 900, .top_k = 6, .num_groups = 257, .dropped = 2},
      {.name = "ManyBlocks",
       .tokens = 17000,
       .top_k = 8,
       .num_groups = 100,
       .busy = 4,
       .dropped = 1,
       .columns = 16},
  };
}

inline std::vector<std::int32_t> experts_of(const RoutingCase& routing) {
  std::mt19937 random(static_cast<unsigned>(routing.tokens) + 31U);
  const std::int32_t none[] = {-1, routing.num_groups, INT32_MIN, INT32_MAX, -1000};
  std::vector<std::int32_t> experts(static_cast<std::size_t>(routing.tokens * routing.top_k));
  for (std::int32_t& expert : experts) {
    const auto drawn = static_cast<int>(random() % 16);
    const auto other = static_cast<std::uint32_t>(random());
    if (drawn < routing.dropped) {
      expert = none[other % 5];
    } else if (drawn < routing.dropped + routing.busy) {
      expert = routing.num_groups - 1;
    } else {
      expert = static_cast<std::int32_t>(other % static_cast<unsigned>(routing.num_groups));
    }
  }
  return experts;
}

inline std::vector<float> probabilities_of(const RoutingCase& routing) {
  std::mt19937 random(5U);
  std::vector<float> probabilities(static_cast<std::size_t>(routing.tokens * routing.top_k));
  for (float& p : probabilities) p = static_cast<float>(random() % 65536) / 65537.0F;
  return probabilities;
}

}  // namespace quantize_tests
