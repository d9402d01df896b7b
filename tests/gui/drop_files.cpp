// Drops files on a window like a file manager: the source side of XDND. For window tests only.
#include <X11/Xatom.h>
#include <X11/Xlib.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace {

struct Drag {
  Display* display;
  Window source;
  Window target;
  int x;
  int y;

  Atom atom(const char* name) const { return XInternAtom(display, name, False); }

  void send(const char* type, long a, long b, long c, long d) const {
    XEvent event{};
    event.xclient.type = ClientMessage;
    event.xclient.window = target;
    event.xclient.message_type = atom(type);
    event.xclient.format = 32;
    event.xclient.data.l[0] = static_cast<long>(source);
    event.xclient.data.l[1] = a;
    event.xclient.data.l[2] = b;
    event.xclient.data.l[3] = c;
    event.xclient.data.l[4] = d;
    XSendEvent(display, target, False, NoEventMask, &event);
    XFlush(display);
  }

  void answer(const XSelectionRequestEvent& asked, const std::string& uris) const {
    XChangeProperty(display, asked.requestor, asked.property, asked.target, 8, PropModeReplace,
                    reinterpret_cast<const unsigned char*>(uris.data()),
                    static_cast<int>(uris.size()));
    XEvent event{};
    event.xselection.type = SelectionNotify;
    event.xselection.requestor = asked.requestor;
    event.xselection.selection = asked.selection;
    event.xselection.target = asked.target;
    event.xselection.property = asked.property;
    event.xselection.time = asked.time;
    XSendEvent(display, asked.requestor, False, NoEventMask, &event);
    XFlush(display);
  }
};

}  // namespace

/// drop_files WINDOW X Y FILE... ; returns 0 once the window reports that it has taken them.
int main(int count, char** arguments) {
  if (count < 5) return 2;
  const std::unique_ptr<Display, int (*)(Display*)> connection(XOpenDisplay(nullptr),
                                                               XCloseDisplay);
  Display* const display = connection.get();
  if (display == nullptr) return 2;
  const Window source =
      XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
  const Drag drag{display, source, std::strtoul(arguments[1], nullptr, 0), std::atoi(arguments[2]),
                  std::atoi(arguments[3])};
  std::string uris;
  for (int i = 4; i < count; ++i) uris += "file://" + std::string(arguments[i]) + "\r\n";
  XSetSelectionOwner(display, drag.atom("XdndSelection"), source, CurrentTime);
  const long kVersion = 5L << 24;
  drag.send("XdndEnter", kVersion, static_cast<long>(drag.atom("text/uri-list")), 0, 0);
  drag.send("XdndPosition", 0, (static_cast<long>(drag.x) << 16) | drag.y, CurrentTime,
            static_cast<long>(drag.atom("XdndActionCopy")));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (XPending(display) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    XEvent event;
    XNextEvent(display, &event);
    if (event.type == SelectionRequest) drag.answer(event.xselectionrequest, uris);
    if (event.type != ClientMessage) continue;
    if (event.xclient.message_type == drag.atom("XdndStatus")) {
      drag.send("XdndDrop", 0, CurrentTime, 0, 0);
    }
    if (event.xclient.message_type == drag.atom("XdndFinished")) return 0;
  }
  std::fprintf(stderr, "the window did not take the files\n");
  return 1;
}
