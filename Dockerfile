# One image for the server, the worker and the deployment step of compose.yaml.
FROM python:3.12-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends git ca-certificates \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /srv/gpurank/app
COPY requirements/run.lock requirements/run.lock
RUN pip install --no-cache-dir --require-hashes --requirement requirements/run.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && useradd --create-home --uid 10001 gpurank \
    && mkdir --parents /srv/gpurank/data \
    && chown gpurank:gpurank /srv/gpurank/data

USER gpurank
ENV GPURANK_HOME=/srv/gpurank/data \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    DO_NOT_TRACK=1
VOLUME /srv/gpurank/data
CMD ["gpurank", "doctor"]
