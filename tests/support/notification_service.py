"""A notification service (Desktop Notifications Specification) that shows nothing.

It prints the address of its session bus, then a line of JSON for each notification that it gets, and ends when
its standard input does. With the argument "mute" it takes notifications and never answers.
"""

import json
import os
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"
MUTE = sys.argv[1:] == ["mute"]


def tell(value):
    print(json.dumps(value), flush=True)


class Service(dbus.service.Object):
    @dbus.service.method(
        NAME, in_signature="susssasa{sv}i", out_signature="u", async_callbacks=("answer", "fail")
    )
    def Notify(self, application, replaces, icon, title, body, actions, hints, expires, answer, fail):
        tell({
            "application": str(application),
            "icon": str(icon),
            "title": str(title),
            "body": str(body),
            "urgency": int(hints.get("urgency", 1)),
        })
        if not MUTE:
            answer(1)

    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return ["body", "body-markup"]

    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self):
        return ("test", "test", "1", "1.2")


DBusGMainLoop(set_as_default=True)
bus_name = dbus.service.BusName(NAME, dbus.SessionBus())
service = Service(bus_name, "/org/freedesktop/Notifications")
loop = GLib.MainLoop()


def end(*_):
    loop.quit()
    return False


GLib.io_add_watch(sys.stdin.fileno(), GLib.IO_HUP | GLib.IO_IN, end)
tell(os.environ["DBUS_SESSION_BUS_ADDRESS"])
loop.run()
