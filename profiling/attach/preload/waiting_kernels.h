// Whether a kernel waits for the one before it (griddepcontrol.wait), as the machine code says that
// the program loads. Only of plain cubins, as Triton, NVRTC and other compilers at run time make
// them: of several images in one the driver chooses, and compressed ones would have to be unpacked.
#pragma once

#include <cstdint>

#include "profiling/attach/spool/frames.h"

namespace attach {

namespace spool = profiling::spool;

/// Of a module or library that was just loaded from this image, or this file.
void note_image(std::uint64_t module, const void* image);
void note_image_file(std::uint64_t module, const char* path);

/// By the kernel's mangled name. A driver may name another module than the one that was loaded:
/// then what all images with such a kernel say.
spool::Waits waits_of(std::uint64_t module, const char* name);

/// In a forked child: another thread of the parent may have held the lock.
void unlock_waiting_kernels_of_parent();

}  // namespace attach
