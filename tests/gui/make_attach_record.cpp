// Writes the record of an attached program into a folder: two processes with a graph each, one of
// which writes memory that was freed. With "compared" a third one, whose replays were compared.
//
// usage: make_attach_record FOLDER [compared]
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/support/observed_spool.h"

namespace {

using namespace profiling;
using spool::ChangedRange;

/// Every replay writes what the graph holds; the program writes a batch elsewhere, and a third
/// allocation stays.
HandMadeSpool compared_spool() {
  constexpr std::uint64_t kHeld = 0x7f0000000000;
  constexpr std::uint64_t kBatch = 0x7f0000200000;
  HandMadeSpool made = observed_spool(0);
  made.set<std::uint32_t>(offsetof(spool::FileHeader, process), 1236);
  for (const std::uint64_t address : {kBatch, std::uint64_t{0x7f0000400000}}) {
    made.add(spool::Allocation{.address = address,
                               .bytes = 1 << 20,
                               .stream = 0,
                               .pool = 0,
                               .memory = spool::MemoryKind::Device,
                               .in_capture = 0});
  }
  for (std::uint64_t replay = 1; replay <= 6; ++replay) {
    const ChangedRange ranges[] = {
        {.address = kHeld, .bytes = 4096, .changed = ChangedRange::kByReplay, .unused = 0},
        {.address = kBatch, .bytes = 65536, .changed = ChangedRange::kByProgram, .unused = 0}};
    made.add(spool::ReplayCompared{.exec = 0xE0,
                                   .replay = replay,
                                   .bytes = (2 << 20) + 4096,
                                   .ranges = replay == 1 ? 1U : 2U,
                                   .cut = replay == 4 ? 1U : 0U},
             {reinterpret_cast<const char*>(ranges), (replay == 1 ? 1 : 2) * sizeof(ChangedRange)});
  }
  made.add(spool::ComparisonsStopped{.result = 709, .call_bytes = 0});
  return made;
}

}  // namespace

int main(int count, char** arguments) {
  const bool compared = count == 3 && std::strcmp(arguments[2], "compared") == 0;
  if (count != 2 && !compared) {
    std::fputs("usage: make_attach_record FOLDER [compared]\n", stderr);
    return 2;
  }
  const std::string folder = arguments[1];
  profiling::HandMadeSpool healthy = profiling::observed_spool(0);
  healthy.set<std::uint32_t>(offsetof(profiling::spool::FileHeader, process), 1235);
  profiling::observed_spool(3).write(folder + "/1234.spool");
  healthy.write(folder + "/1235.spool");
  if (compared) compared_spool().write(folder + "/1236.spool");
  return 0;
}
