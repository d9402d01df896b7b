// The card of a hung replay: its nodes on a timeline up to the deadline, and its marker board.
#pragma once

#include "app/gui/cards/card.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_scene.h"
#include "profiling/hazards/model/doctor_report.h"

namespace app {

/// The experiment at this index if its replay hung, else the first whose replay did; null = none.
/// Only those with something to show: a marker board or a core dump.
const profiling::ExperimentRecord* hung_experiment(const profiling::DoctorReport& report,
                                                   int chosen);

/// In which a row for each node, or eight, has room.
float stall_card_height(const Theme& theme, const profiling::ExperimentRecord& hung);

/// A click on a node shows it in the topology. `hung` and the scene outlive the card.
CardSpec stall_card(const PanelContext& context, GraphScene& scene,
                    const profiling::ExperimentRecord& hung);

}  // namespace app
