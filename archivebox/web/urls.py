"""Owns the addresses of the app's pages."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path, re_path
from django.views.generic.base import RedirectView

from archivebox.web.views import (
    add,
    changes,
    crawls,
    errors,
    events,
    failures,
    files,
    health,
    jobs,
    library,
    login,
    look,
    palette,
    people,
    plugins,
    processes,
    replay,
    saved,
    schedules,
    searching,
    settings,
    snapshot,
    snapshot_changes,
    steering,
    tags,
    tokens,
)

to_login = login_not_required(RedirectView.as_view(pattern_name="login", query_string=True))

admin.site.enable_nav_sidebar = False  # the lists are wide, and its search needs a script

urlpatterns = [
    path("", library.index, name="snapshots"),
    path("snapshots/<uuid:snapshot_id>/", snapshot.one, name="snapshot"),
    path("snapshots/<uuid:snapshot_id>/tags/", snapshot_changes.retag, name="snapshot-tags"),
    path("snapshots/<uuid:snapshot_id>/notes/", snapshot_changes.note, name="snapshot-notes"),
    path("snapshots/<uuid:snapshot_id>/retry/", snapshot_changes.retry, name="snapshot-retry"),
    path("snapshots/<uuid:snapshot_id>/capture/", snapshot_changes.capture, name="snapshot-capture"),
    path("snapshots/<uuid:snapshot_id>/verify/", snapshot_changes.verify, name="snapshot-verify"),
    path("snapshots/<uuid:snapshot_id>/remove/", snapshot_changes.remove, name="snapshot-remove"),
    path("snapshots/<uuid:snapshot_id>/restore/", snapshot_changes.restore, name="snapshot-restore"),
    path("snapshots/<uuid:snapshot_id>/changes/<uuid:other_id>/", changes.two, name="changes"),
    path("search/help/", searching.help_typing, name="search-help"),
    re_path(r"^web/(?P<when>latest|\d{4,14})/(?P<url>.+)$", replay.page, name="replay"),
    re_path(r"^web/follow/(?P<when>\d{14})/(?P<url>.+)$", replay.follow, name="follow"),
    path("crawls/", crawls.index, name="crawls"),
    path("crawls/<uuid:crawl_id>/", crawls.one, name="crawl"),
    path("crawls/<uuid:crawl_id>/do/", steering.do, name="crawl-do"),
    path("crawls/<uuid:crawl_id>/patterns/", steering.patterns, name="crawl-patterns"),
    path("crawls/<uuid:crawl_id>/limits/", steering.limits, name="crawl-limits"),
    path("events/", events.events, name="events"),
    path("failures/", failures.index, name="failures"),
    path("jobs/", jobs.index, name="jobs"),
    path("jobs/start/", jobs.start, name="jobs-start"),
    path("jobs/<uuid:job_id>/", jobs.one, name="job"),
    path("jobs/<uuid:job_id>/file/", jobs.file, name="job-file"),
    path("jobs/<uuid:job_id>/failures.csv", jobs.failures, name="job-failures"),
    path("schedules/", schedules.index, name="schedules"),
    path("schedules/new/", schedules.new, name="schedule-new"),
    path("schedules/<uuid:schedule_id>/", schedules.one, name="schedule"),
    path("schedules/<uuid:schedule_id>/do/", schedules.do, name="schedule-do"),
    path("schedules/<uuid:schedule_id>/change/", schedules.change, name="schedule-change"),
    path("searches/", saved.create, name="searches"),
    path("searches/<uuid:search_id>/", saved.change, name="search"),
    path("palette/", palette.offered, name="palette"),
    path("tags/", tags.index, name="tags"),
    path("tags/<uuid:tag_id>/", tags.change, name="tag"),
    path("add/", add.form, name="add"),
    path("api/", include("archivebox.api.urls")),
    path("add/preview/", add.preview, name="add-preview"),
    path("login/", login.password, name="login"),
    path("login/link/<str:token>/", login.link, name="login-link"),
    path("logout/", login.leave, name="logout"),
    path("password/", login.change_password, name="password"),
    path("tokens/", tokens.index, name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", tokens.revoke, name="token-revoke"),
    path("processes/", processes.index, name="processes"),
    path("processes/<uuid:process_id>/", processes.one, name="process"),
    path("processes/<uuid:process_id>/end/", processes.end, name="process-end"),
    path("plugins/", plugins.index, name="plugins"),
    path("plugins/<str:name>/", plugins.one, name="plugin"),
    path("settings/", settings.index, name="settings"),
    path("people/", people.index, name="people"),
    path("people/<int:user_id>/", people.change, name="person"),
    path("people/record/", people.record, name="record"),
    path("look/", look.choose, name="look"),
    path("health/", health.health, name="health"),
    path("ready/", health.ready, name="ready"),
    path("metrics/", include("archivebox.api.metrics")),
    path("static/<path:path>", files.static, name="static"),
    path("favicon.ico", files.favicon, name="favicon"),
    path("admin/login/", to_login),  # the admin's own form knows no throttle
    path("admin/logout/", login.leave),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password")),
    path("admin/", admin.site.urls),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_there
handler500 = errors.broken
