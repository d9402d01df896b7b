// dlsym and dlvsym of the C library, behind this library's own.
#pragma once

namespace attach {

void* real_dlsym(void* handle, const char* symbol);

}  // namespace attach
