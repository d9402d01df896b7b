#include "profiling/hazards/gallery/gallery.h"

#include <utility>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {

engine::Result<std::unique_ptr<Subject>> make_gallery_subject(const std::string& case_id,
                                                              bool healthy, cudaStream_t stream) {
  for (const auto& programs : {memory_programs(), baked_programs(), order_programs(),
                               capture_programs(), graphs_programs()}) {
    for (const GalleryProgram& found : programs) {
      if (found.id != case_id) continue;
      std::unique_ptr<GroupedProgram> program = found.make(found.id, healthy);
      ENGINE_TRY(program->set_up(stream));
      return std::unique_ptr<Subject>(std::move(program));
    }
  }
  return engine::Error{engine::ErrorCode::NotFound,
                       "The gallery has no program \"" + case_id + "\""};
}

}  // namespace profiling
