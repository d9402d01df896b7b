// dlsym and dlvsym of the C library, behind this library's own.
#pragma once

namespace attach {

void* real_dlsym(void* handle, const char* symbol);

/// A function of this name in any loaded library, in sight of others or not; null = none but
/// `besides`.
void* defined_anywhere(const char* symbol, const void* besides);

}  // namespace attach
