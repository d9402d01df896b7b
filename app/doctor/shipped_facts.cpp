#include "app/doctor/shipped_facts.h"

#include "app/protocol/paths.h"

namespace app {

engine::Result<std::vector<profiling::LibraryFact>> shipped_facts() {
  return profiling::load_library_facts(assets_folder() + "/facts/cublaslt.json");
}

}  // namespace app
