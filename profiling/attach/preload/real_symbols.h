// dlsym and dlvsym of the C library, behind this library's own.
#pragma once

#include <dlfcn.h>

namespace attach {

void* real_dlsym(void* handle, const char* symbol);

/// A function, or the address of an object, that the program has by this name; false = it has none.
template <class Found>
bool find_symbol(Found& found, const char* name) {
  found = reinterpret_cast<Found>(real_dlsym(RTLD_DEFAULT, name));
  return found != Found{};
}

/// A function of this name in any loaded library, in sight of others or not; null = none but
/// `besides`.
void* defined_anywhere(const char* symbol, const void* besides);

}  // namespace attach
