// A libcublasLt.so.13 that has nothing but a version, which its caller chooses.
#include <cstddef>
#include <cstdlib>

extern "C" std::size_t cublasLtGetVersion();

std::size_t cublasLtGetVersion() {
  const char* version = std::getenv("STUB_CUBLASLT_VERSION");
  return version == nullptr ? 0 : std::strtoull(version, nullptr, 10);
}
