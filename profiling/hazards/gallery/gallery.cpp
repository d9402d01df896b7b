#include "profiling/hazards/gallery/gallery.h"

#include <array>
#include <string_view>
#include <utility>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

struct Maker {
  std::string_view id;
  std::unique_ptr<GroupedProgram> (*make)(bool healthy);
};

constexpr std::array kMakers = {
    Maker{"flag-not-reset", &make_flag_not_reset},
    Maker{"workspace-freed", &make_workspace_freed},
    Maker{"workspace-regrown", &make_workspace_regrown},
    Maker{"pool-alias", &make_pool_alias},
    Maker{"allocation-without-free", &make_allocation_without_free},
    Maker{"host-pointer-array", &make_host_pointer_array},
    Maker{"host-source-reused", &make_host_source_reused},
    Maker{"scalar-baked", &make_scalar_baked},
    Maker{"splits-baked", &make_splits_baked},
    Maker{"programmatic-without-wait", &make_programmatic_without_wait},
    Maker{"unordered-siblings", &make_unordered_siblings},
    Maker{"missing-join", &make_missing_join},
    Maker{"lazy-load-in-capture", &make_lazy_load_in_capture},
    Maker{"sync-in-capture", &make_sync_in_capture},
};

}  // namespace

engine::Result<std::unique_ptr<Subject>> make_gallery_subject(const std::string& case_id,
                                                              bool healthy, cudaStream_t stream) {
  for (const Maker& maker : kMakers) {
    if (maker.id != case_id) continue;
    std::unique_ptr<GroupedProgram> program = maker.make(healthy);
    ENGINE_TRY(program->set_up(stream));
    return std::unique_ptr<Subject>(std::move(program));
  }
  return engine::Error{engine::ErrorCode::NotFound,
                       "The gallery has no program \"" + case_id + "\""};
}

}  // namespace profiling
