// The device memory of the program that lives, for comparing it before and after replays: only what
// kernels of a context may certainly read, because one wrong address would end the program. Nothing
// is kept unless replays are compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"

namespace attach {

struct LiveMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  // The id of the context whose kernels may read it; 0 = of none, as far as is known. A context
  // that is reset takes its memory along and no call says so, but its id never comes again.
  std::uint64_t context = 0;
  int device = -1;  // of mapped memory
};

/// Begins to keep what is allocated from now on: called before the program's first allocation.
void keep_live_memory();
bool keeps_live_memory();

CUcontext current_context();
/// Which no other context of this process ever has; 0 = there is none or it is gone, or the driver
/// is older than 12.0. A context that is made or reset later may have the same handle.
std::uint64_t context_id(CUcontext context);
std::uint64_t current_context_id();

/// Of the current context.
void memory_lives(std::uint64_t address, std::uint64_t bytes);
/// From a pool that the program chose, which may be another device's.
void pool_memory_lives(std::uint64_t address, std::uint64_t bytes);
/// Waits while memory is read: it may be unmapped after this.
void memory_ends(std::uint64_t address);

/// What the program made itself on a device. Other handles (imported from a process, multicast) are
/// not known here, and what is mapped from them is never read.
void physical_memory_made(CUmemGenericAllocationHandle handle, const CUmemAllocationProp& made);
void physical_memory_ends(CUmemGenericAllocationHandle handle);
/// Readable only once its device has access.
void memory_is_mapped(std::uint64_t address, std::uint64_t bytes,
                      CUmemGenericAllocationHandle handle);
/// It may end in other pieces than it began, and get access in others.
void mapped_memory_ends(std::uint64_t address, std::uint64_t bytes);
/// Before the driver takes access, and after it gave it.
void access_is_taken(std::uint64_t address, std::uint64_t bytes, const CUmemAccessDesc* access,
                     std::size_t count);
void access_is_given(std::uint64_t address, std::uint64_t bytes, const CUmemAccessDesc* access,
                     std::size_t count);

/// While it exists, no memory ends.
class MemoryStays {
 public:
  MemoryStays();
  ~MemoryStays();
  MemoryStays(const MemoryStays&) = delete;
  MemoryStays& operator=(const MemoryStays&) = delete;

  /// Calls visit(const LiveMemory&) for all that kernels of this context may read.
  template <class Visit>
  void for_each(std::uint64_t context, Visit visit) const {
    for (std::size_t i = 0; i < places(); ++i) {
      const LiveMemory& one = at(i);
      if (one.address != 0 && one.context == context) visit(one);
    }
  }
  /// Some memory found no room in the table.
  bool is_incomplete() const;

 private:
  static std::size_t places();
  static const LiveMemory& at(std::size_t place);
};

/// In a forked child.
void drop_memory_of_parent();

}  // namespace attach
