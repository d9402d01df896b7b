// The device memory of the program that lives, for comparing it before and after replays. Nothing
// is kept unless replays are compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/preload/spin_lock.h"

namespace attach {

/// Memory that a kernel of this device may read. Not what another process or device owns.
struct LiveMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int device = -1;
};

/// Begins to keep what is allocated from now on: called before the program's first allocation.
void keep_live_memory();
bool keeps_live_memory();

/// Of the current context's device.
void memory_lives(std::uint64_t address, std::uint64_t bytes);
/// Mapped memory to which devices were given access, or from which it was taken. It may end in
/// other pieces than it began.
void mapped_memory_lives(std::uint64_t address, std::uint64_t bytes, const CUmemAccessDesc* access,
                         std::size_t count);
/// Wait while memory is read: it may be unmapped after this.
void memory_ends(std::uint64_t address);
void mapped_memory_ends(std::uint64_t address, std::uint64_t bytes);

/// While it exists, no memory ends.
class MemoryStays {
 public:
  MemoryStays();
  ~MemoryStays();
  MemoryStays(const MemoryStays&) = delete;
  MemoryStays& operator=(const MemoryStays&) = delete;

  /// Calls visit(const LiveMemory&) for all of it.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < places(); ++i) {
      if (const LiveMemory* one = at(i)) visit(*one);
    }
  }
  /// Some memory found no room in the table.
  bool is_incomplete() const;

 private:
  static std::size_t places();
  static const LiveMemory* at(std::size_t place);
};

/// In a forked child.
void drop_memory_of_parent();

}  // namespace attach
