// Where cuBLASLt libraries are looked for. No CUDA: the window and the CPU flavour list them too.
#pragma once

#include <string>
#include <vector>

namespace engine {

/// The places of the search, in order of preference. Empty ones are skipped.
struct CublasLtPlaces {
  std::string named;  // $EXPERTSCOPE_CUBLASLT, a file
  std::string executable_folder;
  std::string cache_folder;  // holds cublas/<version>/lib; the newest version comes first
  std::vector<std::string> system_folders;
};

/// The places of this process.
CublasLtPlaces cublaslt_places();

/// Libraries that exist, best first, without duplicates.
std::vector<std::string> find_cublaslt_libraries(const CublasLtPlaces& places = cublaslt_places());

}  // namespace engine
