// One fault per call, named by the argument: what a sanitized build must report, so that its
// silence about the other tests means something. The faults go through volatile, or the compiler
// would remove them.
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace {

void use_after_free() {
  auto owner = std::make_unique<int>(1);
  int* volatile left = owner.get();
  owner.reset();
  *left = 2;
}

volatile int* leaked = nullptr;
void leak() {
  leaked = new volatile int(1);
  leaked = nullptr;
}

void signed_overflow() {
  volatile int largest = std::numeric_limits<int>::max();
  largest = largest + 1;
}

// The accesses never coincide, yet this is a race: nothing orders the two.
void race() {
  volatile int shared = 0;
  std::thread other([&] { shared = 1; });
  shared = 2;
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> faults = {{"none", [] {}},
                                                               {"use_after_free", use_after_free},
                                                               {"leak", leak},
                                                               {"signed_overflow", signed_overflow},
                                                               {"race", race}};
  const auto fault = argc == 2 ? faults.find(argv[1]) : faults.end();
  if (fault == faults.end()) {
    std::fputs("known_faults none|use_after_free|leak|signed_overflow|race\n", stderr);
    return 2;
  }
  fault->second();
  return 0;
}
