// Coloured strips above the page. Never modal; they do not take the focus.
#pragma once

#include <string>

#include "app/controllers/workbench.h"
#include "app/gui/controls/panel_context.h"

namespace app {

/// One strip with a sentence; buttons can follow on the same line.
class Banner {
 public:
  Banner(const PanelContext& context, const char* id, ImU32 color, const std::string& text,
         float buttons_width);
  ~Banner();
  Banner(const Banner&) = delete;
  Banner& operator=(const Banner&) = delete;
};

// Each draws nothing if it has nothing to say.

/// For a worker that is lost, stalled, or does not answer Cancel.
void draw_link_banner(const PanelContext& context, LinkSupervisor& link);
/// While nothing can be written: results wait in memory, and the user can choose another place.
void draw_recorder_banner(const PanelContext& context, const Recorder::Progress& progress);
void draw_library_question(const PanelContext& context, const LibraryConsent::Question* question);
void draw_notices(const PanelContext& context, Notices& notices);
/// Caption of the tour's step, and buttons to step through the tour.
void draw_tour(const PanelContext& context, const Workbench& workbench);
/// The draft of a new tour.
void draw_tour_draft(const PanelContext& context, TourController& tours);

}  // namespace app
