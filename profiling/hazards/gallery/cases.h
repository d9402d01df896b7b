// One function per case; the program is in the file of the same name. set_up() has not been called.
#pragma once

#include <memory>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {

std::unique_ptr<GroupedProgram> make_flag_not_reset(bool healthy);
std::unique_ptr<GroupedProgram> make_workspace_freed(bool healthy);
std::unique_ptr<GroupedProgram> make_workspace_regrown(bool healthy);
std::unique_ptr<GroupedProgram> make_pool_alias(bool healthy);
std::unique_ptr<GroupedProgram> make_allocation_without_free(bool healthy);
std::unique_ptr<GroupedProgram> make_host_pointer_array(bool healthy);
std::unique_ptr<GroupedProgram> make_host_source_reused(bool healthy);
std::unique_ptr<GroupedProgram> make_scalar_baked(bool healthy);
std::unique_ptr<GroupedProgram> make_splits_baked(bool healthy);
std::unique_ptr<GroupedProgram> make_programmatic_without_wait(bool healthy);
std::unique_ptr<GroupedProgram> make_unordered_siblings(bool healthy);
std::unique_ptr<GroupedProgram> make_missing_join(bool healthy);
std::unique_ptr<GroupedProgram> make_lazy_load_in_capture(bool healthy);
std::unique_ptr<GroupedProgram> make_sync_in_capture(bool healthy);

}  // namespace profiling
